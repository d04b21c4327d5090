/* Files that become texts of the program when it is compiled. */
#ifndef GT_BASE_EMBED_H
#define GT_BASE_EMBED_H

/* Declares the content of a file, by its path in the repository, as a string. */
#define GT_EMBED(name, path)                                                                                          \
    extern const char name[];                                                                                         \
    __asm__(".pushsection .rodata\n.global " #name "\n.hidden " #name "\n" #name ":\n.incbin \"" path "\"\n.byte 0\n" \
            ".popsection\n");

#endif
