# SPDX-License-Identifier: Apache-2.0
"""The policy of tune: which launches show soonest which configuration is the fastest."""
