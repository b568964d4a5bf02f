# SPDX-License-Identifier: Apache-2.0
"""Which block a loop should claim, by several models, and the time that each model's choice loses on timed loops."""
