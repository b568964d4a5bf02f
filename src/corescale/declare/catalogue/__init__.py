# SPDX-License-Identifier: Apache-2.0
"""Tables of what is worth trying: allocators and variables, and the space of both that `tune` tries by itself."""
