# SPDX-License-Identifier: Apache-2.0
"""Tables of allocators and variables that are worth trying, and the space that `tune` tries by default."""
