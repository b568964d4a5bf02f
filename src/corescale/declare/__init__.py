# SPDX-License-Identifier: Apache-2.0
"""What is asked: an Experiment, its factors, and the plan of its blocks."""
