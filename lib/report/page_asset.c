/* The page's style sheet and scripts, as the files beside this one and the installed chart library have them. */
#include "report/page.h"

#define DYGRAPHS "/usr/share/javascript/dygraphs/dygraph.min.js"

/* A file as an array that ends with a NUL, and the address behind its last byte. */
#define EMBED(name, path)                                                                                           \
    __asm__(".pushsection .rodata\n.global gt_page_" #name "\n.hidden gt_page_" #name "\ngt_page_" #name            \
            ":\n.incbin \"" path "\"\n.global gt_page_" #name "_end\n.hidden gt_page_" #name "_end\ngt_page_" #name \
            "_end:\n.byte 0\n.popsection\n");                                                                       \
    extern const char gt_page_##name[], gt_page_##name##_end[];

EMBED(style_sheet, "lib/report/page.css")
#if __has_include(DYGRAPHS)
EMBED(chart_library, DYGRAPHS)
EMBED(own_script, "lib/report/page.js")
#endif

struct gt_page_text gt_page_style(void)
{
    return (struct gt_page_text){gt_page_style_sheet, (size_t)(gt_page_style_sheet_end - gt_page_style_sheet)};
}

#if __has_include(DYGRAPHS)
struct gt_page_text gt_page_script(int number)
{
    if (number == 0)
        return (struct gt_page_text){gt_page_chart_library,
                                     (size_t)(gt_page_chart_library_end - gt_page_chart_library)};
    return (struct gt_page_text){gt_page_own_script, (size_t)(gt_page_own_script_end - gt_page_own_script)};
}
#else
struct gt_page_text gt_page_script(int number)
{
    (void)number;
    return (struct gt_page_text){"", 0};
}
#endif

bool gt_page_has_scripts(void)
{
    return gt_page_script(0).length > 0;
}
