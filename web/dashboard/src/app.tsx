import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { needsSignIn } from './api/expiry.ts'
import { isPaletteOpen, Palette } from './palette.tsx'
import { loadAddresses } from './addresses.ts'
import { followLive } from './live.ts'
import { SetupPage } from './pages/setup.tsx'
import { PAGES } from './pages/pages.ts'
import { SignInAgain, SignInPage } from './pages/signIn.tsx'
import { LinkButton } from './parts/button.tsx'
import { Bones, Empty, Notice } from './parts/notice.tsx'
import { Page } from './parts/page.tsx'
import { linkTo, match, type PageArgs, type Route, route } from './router.ts'
import { session } from './session.ts'
import { Shell } from './shell.tsx'
import { words } from './words/words.ts'

/** The page at the present address, or what must come before it. */
export function App() {
  const { path, query } = route.value
  const { value } = session
  const { kind } = value
  useEffect(() => {
    if (kind !== 'signedIn') return undefined
    // Pages show the addresses of this page meanwhile, and if the server does not say.
    loadAddresses().catch(() => undefined)
    return followLive()
  }, [kind])
  if (path === '/setup') return <SetupPage code={query.get('code') ?? ''} />
  if (value.kind === 'unknown') return value.problem && <Notice kind="error">{value.problem}</Notice>
  if (kind === 'none') return <SignInPage />
  const isAlone = PAGES.some((page) => page.isAlone && match(page.path, path) !== null)
  return (
    <>
      {isAlone ? (
        <Current {...route.value} />
      ) : (
        <Shell>
          <Current {...route.value} />
        </Shell>
      )}
      {isPaletteOpen.value && <Palette />}
      {needsSignIn.value && <SignInAgain />}
    </>
  )
}

interface Shown {
  readonly path: string
  readonly component: ComponentType<PageArgs>
}

/** Draws the page of an address, and its outline until its script is there. */
function Current({ path, query }: Route) {
  const entry = PAGES.find((page) => match(page.path, path) !== null)
  const [shown, setShown] = useState<Shown | null>(null)
  const [failed, setFailed] = useState('')
  useEffect(() => {
    let isGone = false
    setFailed('')
    entry?.load().then(
      (component) => {
        if (!isGone) setShown({ path: entry.path, component })
      },
      () => {
        if (!isGone) setFailed(entry.path)
      },
    )
    return () => {
      isGone = true
    }
  }, [entry])
  useFocus(path, entry === undefined || shown?.path === entry.path)
  if (!entry) return <NotFound />
  if (failed === entry.path) return <NotLoaded />
  if (shown?.path !== entry.path)
    return (
      <main class="page" id="main" tabIndex={-1}>
        <Bones rows={5} />
      </main>
    )
  return <shown.component key={path} values={match(entry.path, path) ?? {}} query={query} />
}

/**
 * Begins at the top of another page, as a browser does, for those who use the keyboard or listen: else the focus would be where a
 * link was. A page may have put it into a field.
 */
function useFocus(path: string, isShown: boolean): void {
  const before = useRef(path)
  useEffect(() => {
    if (!isShown || before.current === path) return
    before.current = path
    const main = document.getElementById('main')
    if (main && !main.contains(document.activeElement)) main.focus({ preventScroll: true })
  }, [path, isShown])
}

/** The names of scripts change with each version, so an open page may ask for one that is gone. */
const NotLoaded = () => (
  <main class="page" id="main" tabIndex={-1}>
    <Notice kind="error">
      {words.frame.notLoaded}{' '}
      <button type="button" class="btn small" onClick={() => location.reload()}>
        {words.frame.loadAgain}
      </button>
    </Notice>
  </main>
)

function NotFound() {
  return (
    <Page title={words.frame.notFound}>
      <Empty action={<LinkButton href={linkTo('/')}>{words.frame.overview}</LinkButton>}>
        {words.frame.notFoundText}
      </Empty>
    </Page>
  )
}
