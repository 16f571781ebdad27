import { signal } from '@preact/signals'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { listChannels } from '#api/channels.ts'
import { listPublishTokensByName, listSubscribeTokensByName } from '#api/tokens.ts'
import { call, callPage } from './api/call.ts'
import { streams } from './live.ts'
import { NAV_ITEMS } from './navigation.ts'
import { Icon, type IconName } from './parts/icon.tsx'
import { useModal } from './parts/modal.ts'
import { go } from './router.ts'
import { canChange, session } from './session.ts'
import { words } from './words/words.ts'
import './palette.css'

const text = words.palette
/** The pause after the last key before the server is asked. */
const PAUSE_MS = 200
const MOST = 5

/** True while the search over all places is open. */
export const isPaletteOpen = signal(false)

interface Hit {
  readonly icon: IconName
  readonly text: string
  readonly kind: string
  readonly path: string
}

/** Opens the search on Ctrl K, or Command K on a Mac. */
export function listenForPalette(): void {
  addEventListener('keydown', (event) => {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || session.value.kind !== 'signedIn')
      return
    event.preventDefault()
    isPaletteOpen.value = true
  })
}

function places(typed: string): Hit[] {
  const actions: Hit[] = canChange()
    ? [
        { icon: 'goLive', text: words.frame.goLive, kind: text.action, path: '/live' },
        { icon: 'plus', text: text.newPublishToken, kind: text.action, path: '/tokens/publish/new' },
        { icon: 'plus', text: text.newSubscribeToken, kind: text.action, path: '/tokens/subscribe/new' },
        { icon: 'plus', text: words.channels.create, kind: text.action, path: '/channels/new' },
      ]
    : []
  const pages: Hit[] = NAV_ITEMS.map(({ icon, text: shown, path }) => ({ icon, text: shown, kind: text.page, path }))
  const matches = (hit: Hit): boolean => hit.text.toLowerCase().includes(typed.toLowerCase())
  return [...[...pages, ...actions].filter(matches), ...(typed === '' ? [] : onAir().filter(matches).slice(0, MOST))]
}

const onAir = (): Hit[] =>
  (streams.value ?? []).map(({ streamName }) => ({
    icon: 'goLive',
    text: streamName,
    kind: words.goLive.stream,
    path: `/streams/${encodeURIComponent(streamName)}`,
  }))

/** Tokens and channels whose names match. A list that fails is left out: the others are still useful. */
async function stored(typed: string, signal: AbortSignal): Promise<Hit[]> {
  const query = { name: typed, itemsOnPage: MOST }
  const lists = await Promise.allSettled([
    call(listPublishTokensByName, { query }, { signal }).then((rows) =>
      rows.map(
        ({ id, label }): Hit => ({
          icon: 'tokens',
          text: label,
          kind: text.publishToken,
          path: `/tokens/publish/${id}`,
        }),
      ),
    ),
    call(listSubscribeTokensByName, { query }, { signal }).then((rows) =>
      rows.map(
        ({ id, label }): Hit => ({
          icon: 'tokens',
          text: label,
          kind: text.subscribeToken,
          path: `/tokens/subscribe/${id}`,
        }),
      ),
    ),
    callPage(listChannels, { query: { search: typed, limit: MOST } }, { signal }).then(({ rows }) =>
      rows.map(({ id, name }): Hit => ({ icon: 'channels', text: name, kind: text.channel, path: `/channels/${id}` })),
    ),
  ])
  return lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : []))
}

function useHits(typed: string): readonly Hit[] {
  const [found, setFound] = useState<readonly Hit[]>([])
  useEffect(() => {
    const stopping = new AbortController()
    setFound([])
    if (typed.trim() === '') return undefined
    const timer = setTimeout(() => {
      void stored(typed.trim(), stopping.signal).then((hits) => {
        if (!stopping.signal.aborted) setFound(hits)
      })
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      stopping.abort()
    }
  }, [typed])
  return [...places(typed), ...found]
}

const close = (): void => {
  isPaletteOpen.value = false
}

function open(hit: Hit | undefined): void {
  if (!hit) return
  close()
  go(hit.path)
}

/** The search over pages, actions, live streams, tokens and channels. Arrow keys choose, Enter goes there, Escape closes. */
export function Palette() {
  const dialog = useRef<HTMLDialogElement>(null)
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const hits = useHits(typed)
  const id = useId()
  useModal(dialog)
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0 && hits.length > 0) {
      event.preventDefault()
      setAt((at + step + hits.length) % hits.length)
    } else if (event.key === 'Enter') {
      event.preventDefault()
      open(hits[at])
    } else if (event.key === 'Escape') {
      // A browser would only empty the field.
      event.preventDefault()
      close()
    }
  }
  const onCancel = (event: Event): void => {
    event.preventDefault()
    close()
  }
  return (
    <dialog class="dialog palette" ref={dialog} aria-label={words.frame.searchOrJump} onCancel={onCancel}>
      <div class="search">
        <Icon name="search" isSmall />
        <input
          class="input"
          type="search"
          // The types of Preact ask a combobox for a <datalist>; this one has a listbox.
          {...({ role: 'combobox' } as object)}
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={hits[at] ? `${id}-${at}` : undefined}
          aria-label={words.frame.searchOrJump}
          value={typed}
          onKeyDown={onKeyDown}
          onInput={(event) => {
            setTyped(event.currentTarget.value)
            setAt(0)
          }}
        />
      </div>
      <ul class="hits" role="listbox" id={id} aria-label={text.hits}>
        {hits.map((hit, index) => (
          // The input above takes the keys and says which entry is active.
          <li
            key={hit.path}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => open(hit)}
            onPointerMove={() => setAt(index)}
          >
            <Icon name={hit.icon} />
            <span class="grow">{hit.text}</span>
            <span class="faint">{hit.kind}</span>
          </li>
        ))}
      </ul>
      {hits.length === 0 && <p class="note">{text.none}</p>}
    </dialog>
  )
}
