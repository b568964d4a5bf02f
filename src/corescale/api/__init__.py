# SPDX-License-Identifier: Apache-2.0
"""What a program calls, the command line among them: declare, observe, conclude and show, composed."""
