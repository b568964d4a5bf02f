# SPDX-License-Identifier: Apache-2.0
"""What follows from records: pure functions, no I/O."""
