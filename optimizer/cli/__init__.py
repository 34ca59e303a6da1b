"""The command line: commands and exit codes, no logic."""

from optimizer.cli.app import main
from optimizer.cli.exit_codes import ExitCode

__all__ = ["ExitCode", "main"]
