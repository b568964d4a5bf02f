# SPDX-License-Identifier: Apache-2.0
"""Showing results: terminal, charts, report, exchange formats."""
