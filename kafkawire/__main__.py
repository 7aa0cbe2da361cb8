"""`python -m kafkawire COMMAND`, the same as the script `kafkawire`."""

from __future__ import annotations

import sys

from kafkawire.cli import main

if __name__ == "__main__":
    sys.exit(main())
