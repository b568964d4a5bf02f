# SPDX-License-Identifier: Apache-2.0
"""What a program tells of itself, and what is observed beside it."""
