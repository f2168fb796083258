/* fits.c -- checks that all ids of a layout have a text.  See mask.h. */
#include "base/error.h"
#include "base/time.h"
#include "id/id.h"
#include "mask/mask.h"

#include <string.h>

#define DAY_MS INT64_C(86400000)

/* Returns the bits of a field at its largest value. */
static uint64_t fits_field(const struct vesta_field *field) {
    uint64_t low = (UINT64_C(1) << field->low_width) - 1;
    return field->max >> field->low_width << field->shift | low << field->low_shift;
}

int vs_mask_fits(const struct vesta_opts *opts, const struct vesta_layout *layout, uint64_t max, struct vesta_error *err) {
    const struct vesta_field *time = &layout->field[layout->time];
    uint64_t values[VESTA_FIELDS_MAX], others = 0, digits = 1;
    bool is_by_protocol = opts->method && strcmp(opts->method, VS_METHOD_BY_PROTOCOL) == 0;
    int rc = vs_fields_parse(layout, opts->fields, is_by_protocol ? "2" : opts->method, values, err); /* of 1 and 2 */
    if (rc != VESTA_OK) return rc;
    for (int i = 0; i < layout->field_count; i++) {
        bool is_free = i == layout->seq || i == layout->worker;
        if (i != layout->time) others |= is_free ? fits_field(&layout->field[i]) : values[i] << layout->field[i].shift;
    }
    uint64_t largest = others | fits_field(time);
    if (largest <= max) return VESTA_OK;
    for (uint64_t rest = largest; rest > 9; rest /= 10)
        digits++;
    uint64_t last = others <= max ? (max - others) >> time->shift : 0; /* the last time at which every id fits */
    int64_t out_ms = vs_time_ms(layout, others <= max ? last + 1 : 0);
    struct vs_date date = vs_date_of(out_ms / DAY_MS - (out_ms % DAY_MS < 0));
    return vs_fail(err, VESTA_EOPTION,
                   "can show numbers up to %llu, but the layout's ids need %llu decimal digits: the first id would exceed "
                   "it in the year %lld. Use digits = %llu, or 13 base32 characters",
                   (unsigned long long)max, (unsigned long long)digits, (long long)date.year, (unsigned long long)digits);
}
