import { computed } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { isPaletteOpen } from './palette.tsx'
import { IconButton } from './parts/button.tsx'
import { Icon, type IconName } from './parts/icon.tsx'
import { Menu } from './parts/menu.tsx'
import { Shape, State } from './parts/state.tsx'
import { orToast, Toasts } from './parts/toast.tsx'
import { streams, updates } from './live.ts'
import { NAV_ITEMS, type NavItem, navPathOf } from './navigation.ts'
import { onAir } from './onAir.ts'
import { go, linkTo, route } from './router.ts'
import { canChange, session, signOut } from './session.ts'
import { chooseTheme, otherTheme } from './theme.ts'
import { chooseLanguage, LANGUAGES, otherLanguages } from './words/language.ts'
import { words } from './words/words.ts'
import './shell.css'

const text = words.frame
const currentPath = computed(() => navPathOf(route.value.path))

const Brand = () => (
  <a class="brand" href={linkTo('/')}>
    <img src="./sluice.svg" alt="" width="30" height="30" />
    <span>
      <b>{words.product}</b>
    </span>
  </a>
)

function NavLink({ path, icon, text: shown }: NavItem) {
  return (
    <a href={linkTo(path)} aria-current={currentPath.value === path ? 'page' : undefined}>
      <Icon name={icon} />
      {shown}
      {path === '/' && <StreamTally />}
    </a>
  )
}

/** How many streams are on the air. */
function StreamTally() {
  const count = streams.value?.length ?? 0
  if (count === 0) return null
  return (
    <span class="tally live">
      <Shape kind="live" isSmall />
      {count}
      <span class="sr"> {text.liveCount}</span>
    </span>
  )
}

const UPDATES = {
  connecting: null,
  on: ['ok', text.updatesOn],
  polling: ['idle', text.updatesPolling],
  off: ['warn', text.updatesOff],
} as const

/** Whether the pages follow what happens. */
function UpdatesState() {
  const shown = UPDATES[updates.value]
  return shown && <State kind={shown[0]}>{shown[1]}</State>
}

/** The signed-in user with a menu. `isShort`: the initials alone open it, as at the top of a phone. */
function Account({ isShort = false }: { readonly isShort?: boolean }) {
  const { value } = session
  if (value.kind !== 'signedIn') return null
  const { email, role } = value.session.user
  const { value: next } = otherTheme
  // A broadcast ends when the page starts again.
  const languages = onAir.value === null ? otherLanguages() : []
  const items = [
    { icon: 'theme' as IconName, text: words.frame.theme[next], onSelect: () => chooseTheme(next) },
    ...languages.map((one) => ({
      icon: 'globe' as IconName,
      text: LANGUAGES[one],
      onSelect: () => chooseLanguage(one),
    })),
    { icon: 'settings' as IconName, text: text.settings, onSelect: () => go('/settings/security') },
    { icon: 'signOut' as IconName, text: text.signOut, onSelect: () => void orToast(signOut()) },
  ]
  const initials = email.slice(0, 2).toUpperCase()
  const face = <span class="face">{initials}</span>
  // What is written on a button is part of its name: people who speak to their computer say it.
  if (isShort) return <Menu label={`${initials}, ${text.account(email)}`} items={items} face={face} />
  return (
    <div class="who">
      {face}
      <span class="grow">
        <b>{email}</b>
        <span>{role === 'admin' ? text.admin : text.viewer}</span>
      </span>
      <Menu label={text.account(email)} items={items} />
    </div>
  )
}

const GoLive = () =>
  canChange() ? (
    <a
      class={onAir.value === null ? 'btn' : 'btn on-air'}
      href={linkTo('/live')}
      aria-current={route.value.path === '/live' ? 'page' : undefined}
    >
      <Icon name="goLive" />
      {onAir.value === null ? text.goLive : words.goLive.onAir(onAir.value)}
    </a>
  ) : null

const openPalette = (): void => {
  isPaletteOpen.value = true
}

const Find = () => (
  <button class="find" type="button" onClick={openPalette}>
    <Icon name="search" isSmall />
    {text.search}
    <kbd>Ctrl K</kbd>
  </button>
)

/** At the bottom of a phone, around the action; the menu beside them has the others. */
const IN_BAR: readonly string[] = ['/', '/tokens/publish', '/access']
const BEHIND_MORE = NAV_ITEMS.filter(({ path }) => !IN_BAR.includes(path))

const MoreMenu = () => (
  <Menu
    label={text.more}
    face={
      <>
        <Icon name="menu" />
        {text.more}
      </>
    }
    isCurrent={BEHIND_MORE.some(({ path }) => path === currentPath.value)}
    items={BEHIND_MORE.map(({ path, icon, text: shown }) => ({
      icon,
      text: shown,
      onSelect: () => go(path),
    }))}
  />
)

/** The frame around every page: navigation at the side, or at the top and the bottom of a phone. */
export function Shell({ children }: { readonly children: ComponentChildren }) {
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        {text.skip}
      </a>
      <header class="topbar">
        <Brand />
        {updates.value === 'off' && <UpdatesState />}
        <IconButton icon="search" size="big" label={text.searchOrJump} onClick={openPalette} />
        <Account isShort />
      </header>
      <div class="app">
        <aside class="side" aria-label={words.product}>
          <Brand />
          <GoLive />
          <Find />
          <nav class="nav" aria-label={text.main}>
            {NAV_ITEMS.map((item) => (
              <NavLink key={item.path} {...item} />
            ))}
          </nav>
          <div class="side-foot">
            <UpdatesState />
            <Account />
          </div>
        </aside>
        {children}
      </div>
      <nav class="tabbar" aria-label={text.mainShort}>
        {NAV_ITEMS.filter(({ path }) => IN_BAR.slice(0, 2).includes(path)).map((item) => (
          <NavLink key={item.path} {...item} />
        ))}
        {canChange() && (
          <a class="go" href={linkTo('/live')}>
            <Icon name="goLive" />
            {text.goLive}
          </a>
        )}
        <a href={linkTo('/access')} aria-current={currentPath.value === '/access' ? 'page' : undefined}>
          <Icon name="access" />
          {text.access}
        </a>
        <MoreMenu />
      </nav>
      <Toasts />
    </>
  )
}

function skip(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}
