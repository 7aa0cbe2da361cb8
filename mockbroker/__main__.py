"""`python -m mockbroker`."""

from __future__ import annotations

from mockbroker.cli import main

raise SystemExit(main())
