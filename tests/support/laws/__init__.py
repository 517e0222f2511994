"""Real control laws in floats, with the noise that solvers leave in them: paths by name."""

from importlib.resources import files
from pathlib import Path

__all__ = ["LAWS"]

_BUNDLED = Path(str(files("cpwl.show") / "examples" / "mpc_double_integrator_27.json"))
LAWS = {path.stem: path for path in sorted([_BUNDLED, *Path(__file__).parent.glob("*.json")])}
