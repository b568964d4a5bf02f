# SPDX-License-Identifier: Apache-2.0
"""Models that choose the block size of a loop, and the time that each model's choice loses on timed loops."""
