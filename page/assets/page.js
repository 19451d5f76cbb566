// Live updates: the one thing of these pages that needs a script.
//
// An element with data-live="URL" is kept up to date by the server-sent events of
// that address: "add" brings rows for its end, "set" all of its content, "end" says
// that there is nothing more to come, and the page is shown anew. A row takes the place
// of an earlier one with its id. Of rows the newest 500 stay. What comes is HTML that the server made and escaped.
'use strict'
const most = 500
for (const el of document.querySelectorAll('[data-live]')) {
  const source = new EventSource(el.dataset.live)
  source.addEventListener('add', e => {
    el.insertAdjacentHTML('beforeend', e.data)
    const row = el.lastElementChild
    const was = row.id && document.getElementById(row.id)
    if (was && was !== row) was.replaceWith(row)
    while (el.childElementCount > most) el.firstElementChild.remove()
  })
  source.addEventListener('set', e => {
    const at = el.contains(document.activeElement) && document.activeElement.id // stays where it was
    el.innerHTML = e.data
    if (at) document.getElementById(at)?.focus()
  })
  source.addEventListener('end', () => { source.close(); location.reload() })
}
