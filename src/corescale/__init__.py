# SPDX-License-Identifier: Apache-2.0
"""corescale: measures how a program scales over cores, explains it, and finds the fastest way to launch it."""

__version__ = "0.1.0"
