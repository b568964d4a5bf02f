# SPDX-License-Identifier: Apache-2.0
"""Observing: makes launches, their records, and the run folder that keeps them."""
