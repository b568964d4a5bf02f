# SPDX-License-Identifier: Apache-2.0
"""Where every thread-second of a launch went: pure functions of profiles."""
