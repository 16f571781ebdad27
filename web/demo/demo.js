import { broadcastTab } from './broadcast.js'
import { leadUsers } from './lead.js'
import { watchTab } from './watch.js'

const tabs = [...document.querySelectorAll('[role=tab]')]

function select(tab) {
  for (const other of tabs) {
    const chosen = other === tab
    other.setAttribute('aria-selected', String(chosen))
    other.tabIndex = chosen ? 0 : -1
    document.getElementById(other.getAttribute('aria-controls')).hidden = !chosen
  }
}

for (const [index, tab] of tabs.entries()) {
  tab.addEventListener('click', () => select(tab))
  tab.addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key]
    if (step === undefined) return
    const next = tabs.at((index + step) % tabs.length)
    select(next)
    next.focus()
  })
}

document.getElementById('insecure').hidden = isSecureContext
broadcastTab(document.getElementById('broadcast'))
const watching = watchTab(document.getElementById('watch'))

/** `#watch=account/name` opens the page at a stream. */
function follow() {
  const stream = new URLSearchParams(location.hash.slice(1)).get('watch')
  if (stream === null) return
  select(document.getElementById('tab-watch'))
  watching.show(stream)
}

follow()
addEventListener('hashchange', follow)
void leadUsers()
