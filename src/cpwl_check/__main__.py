"""``python -m cpwl_check law.json net.json law.proof.json``"""

import sys

from cpwl_check.main import main

sys.exit(main(sys.argv[1:]))
