# SPDX-License-Identifier: Apache-2.0
"""`python -m corescale`."""

from corescale.cli import main

main()
