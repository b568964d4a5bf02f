# SPDX-License-Identifier: Apache-2.0
"""The policy of tune: which launches tell soonest which configuration is the fastest."""
