// The page at /watch/{accountId}/{streamName}: one player that fills it. The token is in the fragment, which no server
// sees, or in the query.

interface Player extends HTMLElement {
  readonly state: string
}

function tokenOf({ hash, search }: Location): string {
  return new URLSearchParams(hash.slice(1)).get('token') ?? new URLSearchParams(search).get('token') ?? ''
}

function show(player: Player): void {
  const [account = '', name = ''] = location.pathname.replace(/\/$/, '').split('/').slice(-2).map(decodeURIComponent)
  const query = new URLSearchParams(location.search)
  document.title = name
  document.querySelector('h1')?.replaceChildren(name)
  player.setAttribute('heading', name)
  for (const attribute of ['source', 'sources', 'mode', 'poster', 'autoplay', 'color']) {
    const value = query.get(attribute)
    if (value !== null) player.setAttribute(attribute, value)
  }
  if (query.has('muted')) player.setAttribute('muted', '')
  const token = tokenOf(location)
  if (token !== '') player.setAttribute('token', token)
  player.setAttribute('stream', `${account}/${name}`)
}

/** A pasted token goes into the fragment, so that it survives a reload and stays out of every log. */
function keepToken(player: Player): void {
  const token = player.getAttribute('token') ?? ''
  if (player.state !== 'playing' || token === tokenOf(location)) return
  history.replaceState(null, '', `#${new URLSearchParams({ token }).toString()}`)
}

// Before the player begins, which speaks the language of its page.
if (/^de\b/i.test(navigator.language)) document.documentElement.lang = 'de'

const player = document.querySelector<Player>('sluice-player')
if (player !== null) {
  show(player)
  player.addEventListener('playing', () => keepToken(player))
  addEventListener('hashchange', () => show(player))
}
