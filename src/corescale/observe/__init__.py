# SPDX-License-Identifier: Apache-2.0
"""What happened: launches, their records, and the run folder that keeps them."""
