"""``python -m cpwl_check law.json net.json law.proof.json``"""

import sys

from cpwl_check.main import run

sys.exit(run(sys.argv[1:]))
