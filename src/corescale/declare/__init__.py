# SPDX-License-Identifier: Apache-2.0
"""Declaring what to measure: an Experiment, its factors, and the plan of its blocks."""
