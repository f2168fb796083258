/* id.c -- composes and explains ids, and makes them from named values.  vesta_compose and vesta_explain are exact
 * inverses. */
#include "base/array.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/slice.h"
#include "id/id.h"

typedef unsigned long long ull; /* for printf */

int vs_field_check(const struct vesta_layout *layout, int i, uint64_t value, struct vesta_error *err) {
    const struct vesta_field *f = &layout->field[i];
    if (f->fixed && value != f->value)
        return vs_fail(err, VESTA_EFIELD, "%s cannot be %llu: this layout fixes it to %llu", f->name, (ull)value,
                       (ull)f->value);
    if (value > f->max)
        return vs_fail(err, VESTA_EFIELD, "%s cannot be %llu: its maximum is %llu (%u bits)", f->name, (ull)value,
                       (ull)f->max, f->width);
    return VESTA_OK;
}

int vesta_compose(const struct vesta_layout *layout, const uint64_t *values, uint64_t *id, struct vesta_error *err) {
    uint64_t sum = 0;
    for (int i = 0; i < layout->field_count; i++) {
        int rc = vs_field_check(layout, i, values[i], err);
        if (rc != VESTA_OK) return rc;
        sum |= vs_field_put(&layout->field[i], values[i]);
    }
    *id = sum;
    return VESTA_OK;
}

int vesta_explain(const struct vesta_layout *layout, uint64_t id, struct vesta_parts *out, struct vesta_error *err) {
    struct vesta_parts parts = {0};
    for (int i = 0; i < layout->field_count; i++) {
        const struct vesta_field *f = &layout->field[i];
        parts.values[i] = vs_field_get(f, id);
        if (f->fixed && parts.values[i] != f->value)
            return vs_fail(err, VESTA_EID,
                           "%llu is not of this layout: its %s is %llu, not %llu. `vesta guess %llu` shows the layouts "
                           "that could have made it",
                           (ull)id, f->name, (ull)parts.values[i], (ull)f->value, (ull)id);
    }
    parts.time = parts.values[layout->time];
    parts.seq = layout->seq >= 0 ? parts.values[layout->seq] : 0;
    parts.worker = layout->worker >= 0 ? parts.values[layout->worker] : 0;
    parts.unix_ms = vs_time_ms(layout, parts.time);
    *out = parts;
    return VESTA_OK;
}

/* ------------------------------------------------------------------ named values */

static int no_field(const struct vesta_layout *layout, struct vs_slice name, struct vesta_error *err) {
    const char *names = VS_NAMES(layout);
    char hint[VS_HINT_MAX];
    return vs_fail(err, VESTA_EFIELD, "there is no field '%s'. The fields are %s%s", VS_QUOTE(name.at, name.length),
                   names, vs_nearest_hint(name.at, name.length, names, hint));
}

/* Checks a field that is given twice.  This is allowed only for the leased field, under two of its names and with equal
 * values. */
static int check_again(const struct vesta_value *first, const struct vesta_value *again, struct vesta_error *err) {
    if (strcmp(first->name, again->name) == 0) return vs_fail(err, VESTA_EFIELD, "%s is given twice", again->name);
    if (first->value != again->value)
        return vs_fail(err, VESTA_EFIELD, "%s is %llu but %s is %llu, and both name the leased field", first->name,
                       (ull)first->value, again->name, (ull)again->value);
    return VESTA_OK;
}

int vs_values_take(const struct vesta_layout *layout, const struct vesta_value *given, size_t count,
                   struct vs_values *out, struct vesta_error *err) {
    const struct vesta_value *by[VESTA_FIELDS_MAX] = {0};
    for (int i = 0; i < layout->field_count; i++)
        out->value[i] = layout->field[i].value;
    for (size_t n = 0; n < count; n++) {
        int rc, i = vesta_layout_find(layout, given[n].name);
        if (i < 0) return no_field(layout, (struct vs_slice){given[n].name, strlen(given[n].name)}, err);
        if (by[i] && (rc = check_again(by[i], &given[n], err)) != VESTA_OK) return rc;
        if ((rc = vs_field_check(layout, i, given[n].value, err)) != VESTA_OK) return rc;
        out->value[i] = given[n].value;
        by[i] = &given[n];
    }
    for (int i = 0; i < layout->field_count; i++)
        out->named[i] = by[i] != NULL;
    return VESTA_OK;
}

int vesta_make(const struct vesta_layout *layout, const struct vesta_value *given, size_t count, uint64_t *id,
               struct vesta_error *err) {
    struct vs_values values;
    int rc = vs_values_take(layout, given, count, &values, err);
    if (rc != VESTA_OK) return rc;
    const int needed[] = {layout->time, layout->seq, layout->worker};
    for (size_t i = 0; i < VS_COUNT(needed); i++)
        if (needed[i] >= 0 && !values.named[needed[i]])
            return vs_fail(err, VESTA_EFIELD, "%s is missing: time, seq and the leased field are needed",
                           layout->field[needed[i]].name);
    return vesta_compose(layout, values.value, id, err);
}

/* ------------------------------------------------------------------ a handle's fields */

static int read_handle_field(const struct vesta_layout *layout, struct vs_slice word, struct vesta_value *out,
                             char *name_buf, struct vesta_error *err) {
    struct vs_slice name, value;
    if (!vs_slice_split(word, '=', &name, &value) ||
        vesta_parse(VESTA_DECIMAL, value.at, value.length, &out->value) != VESTA_OK)
        return vs_fail(err, VESTA_EFIELD, "'%s' is not a field's value: write name=number",
                       VS_QUOTE(word.at, word.length));
    if (name.length >= VESTA_NAME_MAX || memchr(name.at, 0, name.length)) return no_field(layout, name, err);
    memcpy(name_buf, name.at, name.length);
    name_buf[name.length] = 0;
    out->name = name_buf;
    int i = vesta_layout_find(layout, name_buf);
    if (i >= 0 && (i == layout->time || i == layout->seq || i == layout->worker))
        return vs_fail(err, VESTA_EFIELD, "%s cannot be set for a handle: the generator sets it in every id", name_buf);
    return VESTA_OK;
}

int vs_method_at(const struct vesta_layout *layout) {
    int i = vesta_layout_find(layout, "method");
    return i >= 0 && !layout->field[i].fixed ? i : -1;
}

static int set_method(const struct vesta_layout *layout, const char *method, struct vs_values *taken,
                      struct vesta_error *err) {
    int i = vesta_layout_find(layout, "method"), rc;
    uint64_t value = VS_METHOD_DEFAULT;
    if (method && i >= 0 && taken->named[i])
        return vs_fail(err, VESTA_EFIELD, "method is given twice: as an option, and in fields");
    if (method && strcmp(method, VS_METHOD_BY_PROTOCOL) == 0)
        value = 0;
    else if (method) {
        if (vesta_parse(VESTA_DECIMAL, method, strlen(method), &value) != VESTA_OK)
            return vs_fail(err, VESTA_EOPTION, "method is '%s', which must be a number or " VS_METHOD_BY_PROTOCOL,
                           VS_QUOTE(method, strlen(method)));
        if (i < 0) return no_field(layout, (struct vs_slice){"method", strlen("method")}, err);
        if ((rc = vs_field_check(layout, i, value, err)) != VESTA_OK) return rc;
    }
    if (i < 0 || layout->field[i].fixed || taken->named[i]) return VESTA_OK;
    taken->value[i] = value < layout->field[i].max ? value : layout->field[i].max;
    return VESTA_OK;
}

int vs_fields_parse(const struct vesta_layout *layout, const char *text, const char *method, uint64_t *values,
                    struct vesta_error *err) {
    struct vesta_value given[VESTA_FIELDS_MAX];
    char names[VESTA_FIELDS_MAX][VESTA_NAME_MAX];
    struct vs_values taken;
    size_t count = 0;
    struct vs_slice word;
    while (text && vs_slice_next(&text, &word)) {
        if (count == VESTA_FIELDS_MAX)
            return vs_fail(err, VESTA_EFIELD, "'%s' is one field too many", VS_QUOTE(word.at, word.length));
        int rc = read_handle_field(layout, word, &given[count], names[count], err);
        if (rc != VESTA_OK) return rc;
        count++;
    }
    int rc = vs_values_take(layout, given, count, &taken, err);
    if (rc == VESTA_OK) rc = set_method(layout, method, &taken, err);
    if (rc == VESTA_OK) memcpy(values, taken.value, sizeof taken.value);
    return rc;
}
