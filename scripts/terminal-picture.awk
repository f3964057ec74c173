# SPDX-License-Identifier: GPL-3.0-or-later
# Text of a terminal session as an SVG of its window: lines that begin with "$ " are what was typed. -v title=TEXT -v columns=N: a longer
# line goes on in the next one, as in a terminal. Light and dark follow the reader's choice. In the C locale: it counts the characters of
# UTF-8 by itself, and those of Chinese as two.
function character(text, i,    first, n) {
    first = substr(text, i, 1)
    n = first < "\200" ? 1 : first < "\340" ? 2 : first < "\360" ? 3 : 4
    return substr(text, i, n)
}
# U+1100.. as two, if it is a letter of three bytes and no dash, quote or arrow (U+2000 to U+2BFF).
function width(c) {
    return length(c) < 3 || (c >= "\342\200\200" && c < "\342\260\200") ? 1 : 2
}
function escaped(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/>/, "\\&gt;", text)
    return text
}
function add(text, columns_used, class) {
    n_lines++
    line[n_lines] = text
    used[n_lines] = columns_used
    kind[n_lines] = class
}
{
    class = substr($0, 1, 2) == "$ " ? "typed" : "said"
    text = ""
    n = 0
    for (i = 1; i <= length($0); i += length(c)) {
        c = character($0, i)
        if (n + width(c) > columns) {
            add(text, n, class)
            text = ""
            n = 0
        }
        text = text c
        n += width(c)
    }
    add(text, n, class)
}
END {
    cell = 7.8
    step = 18
    w = int(columns * cell) + 32
    h = n_lines * step + 62
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", w, h, w, h, escaped(title)
    print "<style>"
    print "text { font: 13px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, 'Noto Sans Mono CJK SC', monospace; fill: #24292f; white-space: pre }"
    print ".window { fill: #ffffff; stroke: #d0d7de } .bar { fill: #eaeef2 } .title { fill: #57606a } .typed { fill: #0550ae; font-weight: bold }"
    print "@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .window { fill: #0d1117; stroke: #30363d } .bar { fill: #161b22 }"
    print "  .title { fill: #8b949e } .typed { fill: #79c0ff } }"
    print "</style>"
    printf "<rect class=\"window\" x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", w - 1, h - 1
    printf "<path class=\"bar\" d=\"M1 30 V8 a7 7 0 0 1 7 -7 H%d a7 7 0 0 1 7 7 V30 Z\"/>\n", w - 8
    print "<circle cx=\"18\" cy=\"16\" r=\"5.5\" fill=\"#ff5f57\"/><circle cx=\"36\" cy=\"16\" r=\"5.5\" fill=\"#febc2e\"/><circle cx=\"54\" cy=\"16\" r=\"5.5\" fill=\"#28c840\"/>"
    printf "<text class=\"title\" x=\"%d\" y=\"20\" text-anchor=\"middle\">%s</text>\n", w / 2, escaped(title)
    for (i = 1; i <= n_lines; i++)
    {
        match(line[i], /^ */)
        blanks = RLENGTH
        if (used[i] > blanks) # its length is told, so that columns stand below each other in any font
            printf "<text%s x=\"%.1f\" y=\"%d\" xml:space=\"preserve\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\">%s</text>\n",
                kind[i] == "typed" ? " class=\"typed\"" : "", 16 + blanks * cell, 30 + i * step + 4,
                (used[i] - blanks) * cell, escaped(substr(line[i], blanks + 1))
    }
    print "</svg>"
}
