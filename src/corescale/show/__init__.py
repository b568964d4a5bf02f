# SPDX-License-Identifier: Apache-2.0
"""What a person sees: terminal, charts, report, exchange formats."""
