import { h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { words } from '../words/words.ts'
import './screen.css'

interface SluicePlayerProps {
  /** Those of `<sluice-player>`. */
  readonly attributes: Readonly<Record<string, string>>
  readonly caption?: string
}

/** The player that pages of others embed, too. Its script is loaded when the first one is shown. */
export function SluicePlayer({ attributes, caption = '' }: SluicePlayerProps) {
  const [state, setState] = useState<'loading' | 'ready' | 'failed'>('loading')
  useEffect(() => {
    loadPlayer().then(
      () => setState('ready'),
      () => setState('failed'),
    )
  }, [])
  if (state === 'ready')
    return (
      <figure class="player">
        {h('sluice-player', { ...attributes, muted: '' })}
        {caption !== '' && <figcaption class="note">{caption}</figcaption>}
      </figure>
    )
  return (
    <div class="screen">
      <p class="middle" role="status">
        {state === 'failed' ? words.stream.player.missing : words.parts.loading}
      </p>
    </div>
  )
}

/** From the server, at any prefix of a proxy, so that there is one player and one hls.js in the browser's cache. */
const loadPlayer = (): Promise<unknown> => import(/* @vite-ignore */ new URL('../player.js', document.baseURI).href)
