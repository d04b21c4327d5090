/* The page's style sheet and scripts, as the files beside this one and the installed chart library have them. */
#include "report/page/page.h"

#include <string.h>

#define DYGRAPHS "/usr/share/javascript/dygraphs/dygraph.min.js"

/* A text file as a string. */
#define EMBED(name, path)                                                                                \
    __asm__(".pushsection .rodata\n.global gt_page_" #name "\n.hidden gt_page_" #name "\ngt_page_" #name \
            ":\n.incbin \"" path "\"\n.byte 0\n.popsection\n");                                          \
    extern const char gt_page_##name[];

EMBED(style_sheet, "lib/report/page/page.css")
#if __has_include(DYGRAPHS)
EMBED(chart_library, DYGRAPHS)
EMBED(own_script, "lib/report/page/page.js")
#endif

static struct gt_page_text text(const char *string)
{
    return (struct gt_page_text){string, strlen(string)};
}

struct gt_page_text gt_page_style(void)
{
    return text(gt_page_style_sheet);
}

#if __has_include(DYGRAPHS)
struct gt_page_text gt_page_script(int number)
{
    return text(number == 0 ? gt_page_chart_library : gt_page_own_script);
}
#else
struct gt_page_text gt_page_script(int number)
{
    (void)number;
    return text("");
}
#endif

bool gt_page_has_scripts(void)
{
    return gt_page_script(0).length > 0;
}
