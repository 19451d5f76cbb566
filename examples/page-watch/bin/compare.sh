#!/bin/sh
# Takes new.html as the page of now, page.txt, and prints how it differs from told.txt, the last one that was told of.
bin=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
[ -s new.html ] || { echo "new.html is not there, or empty: write what http_get gave into it" >&2; exit 1; }
if [ -e page.txt ] && sh "$bin/told.sh" 2>/dev/null; then cp page.txt told.txt; fi
# Of a page its text is compared, a line for what stands between two tags. Leave out here what is different each time, such as a clock.
tr '\n\r\t' '   ' <new.html | tr '<' '\n' | sed -e '/^script/d' -e '/^style/d' -e 's/^[^>]*>//' -e 's/  */ /g' -e 's/^ //' -e 's/ $//' -e '/^$/d' >page.tmp
mv page.tmp page.txt && rm new.html
[ -e told.txt ] || { echo "this is the first page: nothing to compare it with"; cp page.txt told.txt; exit; }
diff -U 1 told.txt page.txt && echo "nothing changed" || [ $? = 1 ]
