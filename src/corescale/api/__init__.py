# SPDX-License-Identifier: Apache-2.0
"""The functions that Python programs and the command line call. They compose declare, observe, conclude and show."""
