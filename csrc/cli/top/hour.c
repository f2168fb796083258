/* hour.c -- the last hour as two pictures of blocks. */
#include "cli/top/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STEPS_MAX 360
#define HIGH_MIN 3
#define HIGH_MAX 8
#define HIGH 6   /* where nothing says how much room there is */
#define SCALE 12 /* columns of the numbers beside it */
#define COLUMNS_MAX 120

struct hour {
    double step[STEPS_MAX]; /* a second; below 0: not known */
    size_t steps;
    double column[COLUMNS_MAX];
    size_t columns, a_column; /* steps of a column */
    double now, most, most_column;
};

static void read_steps(struct hour *hour, struct vs_slice row, int64_t step_ms) {
    struct vs_slice name, value;
    hour->now = hour->most = -1;
    while (hour->steps < STEPS_MAX && vs_value_next(&row, &name, &value)) {
        double *step = &hour->step[hour->steps++];
        *step = vs_slice_is(value, "null") ? -1 : (double)vs_value_number(value) * 1000 / (double)step_ms;
        if (*step >= 0) hour->now = *step;
        if (*step > hour->most) hour->most = *step;
    }
}

/* Each column is the mean of the same number of steps, the newest at the right edge. */
static void fold(struct hour *hour, size_t columns) {
    columns = columns < 60 ? 30 : columns < COLUMNS_MAX ? 60 : COLUMNS_MAX;
    hour->a_column = STEPS_MAX / columns;
    hour->columns = (hour->steps + hour->a_column - 1) / hour->a_column;
    hour->most_column = 0;
    for (size_t i = 0; i < hour->columns; i++) {
        double sum = 0;
        size_t known = 0;
        for (size_t j = i * hour->a_column; j < (i + 1) * hour->a_column && j < hour->steps; j++)
            if (hour->step[j] >= 0) sum += hour->step[j], known++;
        hour->column[i] = known ? sum / (double)known : -1;
        if (hour->column[i] > hour->most_column) hour->most_column = hour->column[i];
    }
}

/* A row of the picture, the lowest is 0: blocks as high as eighths of it. */
static void draw_row(struct vs_lines *lines, const struct hour *hour, size_t row, size_t high) {
    static const char *const eighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    char text[4 * COLUMNS_MAX + 1] = "", scale[VS_GROUPED_MAX] = "", *at = text;
    for (size_t i = 0; i < hour->columns; i++) {
        double top = hour->most_column > 0 ? hour->column[i] / hour->most_column * (double)(8 * high) : 0;
        double part = top - (double)(8 * row);
        int eighth = part <= 0 ? 0 : part >= 8 ? 8 : (int)part;
        if (row == 0 && hour->column[i] > 0 && eighth == 0) eighth = 1;
        at = stpcpy(at, hour->column[i] < 0 ? " " : row == 0 && eighth == 0 ? "_" : eighths[eighth]);
    }
    if (row == 0) snprintf(scale, sizeof scale, "0");
    if (row == high - 1 && hour->most_column > 0) vs_many(hour->most_column, scale);
    while (at > text && at[-1] == ' ')
        *--at = '\0';
    vs_line(lines, "", "%*s %s", SCALE - 1, scale, text);
}

static void draw_chart(struct vs_lines *lines, const struct vs_top_seen *seen, const char *title, const char *row,
                       size_t high) {
    static struct hour hour;
    char now[VS_GROUPED_MAX], most[VS_GROUPED_MAX], mean[64];
    int64_t step_ms = vs_value_span(vs_value_member(seen->said, "step_ms"));
    if (step_ms < 1 || step_ms > 1000000) step_ms = 10000;
    memset(&hour, 0, sizeof hour);
    read_steps(&hour, vs_value_member(seen->said, row), step_ms);
    if (hour.most < 0) {
        vs_line(lines, VS_CYAN, "%s: no ten seconds are over yet", title);
        return;
    }
    fold(&hour, lines->columns ? lines->columns - (lines->columns > SCALE ? SCALE : 0) : COLUMNS_MAX / 2);
    vs_line(lines, VS_CYAN, "%s: now %s, at most %s", title, vs_many(hour.now, now), vs_many(hour.most, most));
    for (size_t i = high; i-- > 0;)
        draw_row(lines, &hour, i, high);
    int gap = (int)hour.columns - 15;
    snprintf(mean, sizeof mean, "each column is %" PRId64 " s", (int64_t)hour.a_column * step_ms / 1000);
    vs_line(lines, "", "%*s an hour ago%*s%*s now", SCALE - 1, "", (gap + (int)strlen(mean)) / 2, gap > 30 ? mean : "",
            (gap - (int)strlen(mean)) / 2, "");
}

void vs_draw_hour(struct vs_lines *lines, const struct vs_top_seen *seen) {
    size_t room = lines->rows == SIZE_MAX ? 2 * HIGH + 6 : lines->rows - lines->used;
    size_t high = room > 2 * HIGH_MAX + 6 ? HIGH_MAX : room > 2 * HIGH_MIN + 6 ? (room - 6) / 2 : HIGH_MIN;
    if (!vs_draw_answer(lines, seen, vs_top_views[5].every_ms)) return;
    lines->scrolls = true;
    vs_line(lines, "", "%s%s", *seen->of ? "namespace " : "all namespaces and tags", seen->of);
    draw_chart(lines, seen, "ids a second", "ids", high);
    vs_line(lines, "", "%s", "");
    draw_chart(lines, seen, "refused a second", "refused", high);
}
