# SPDX-License-Identifier: Apache-2.0
"""One file an answer: what follows from the records of a scan, a comparison, a race or a study."""
