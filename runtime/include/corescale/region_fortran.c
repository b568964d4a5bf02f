/* SPDX-License-Identifier: Apache-2.0
 * The functions of region.h as external symbols, which corescale_region.f90 calls. */
#include "region.h"

void corescale_fortran_begin(const char* name);
void corescale_fortran_end(const char* name);
void corescale_fortran_metric(const char* name, double value);
void corescale_fortran_check(const char* name, int ok);
void corescale_fortran_work(double units);
int corescale_fortran_write(void);

void corescale_fortran_begin(const char* name) { corescale_region_begin(name); }
void corescale_fortran_end(const char* name) { corescale_region_end(name); }
void corescale_fortran_metric(const char* name, double value) { corescale_metric(name, value); }
void corescale_fortran_check(const char* name, int ok) { corescale_check(name, ok); }
void corescale_fortran_work(double units) { corescale_work(units); }
int corescale_fortran_write(void) { return corescale_write(); }
