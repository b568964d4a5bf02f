# SPDX-License-Identifier: Apache-2.0
"""The policy of tune: chooses the launches that find the fastest configuration soonest."""
