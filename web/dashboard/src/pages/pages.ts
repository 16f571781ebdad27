import type { ComponentType } from 'preact'
import type { IconName } from '../parts/icon.tsx'
import { words } from '../words/words.ts'

/** What a page gets: the values of its address. */
export interface PageArgs {
  readonly values: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}

interface PageEntry {
  /** The form of its address; `:name` is a value. */
  readonly path: string
  readonly load: () => Promise<ComponentType<PageArgs>>
  /** It has a frame of its own, without the navigation. */
  readonly isAlone?: boolean
}

/** Every page, with the script that draws it. A page is loaded when it is opened. */
export const PAGES: readonly PageEntry[] = [
  { path: '/', load: () => import('./overview/page.tsx').then((module) => module.OverviewPage) },
  { path: '/streams/:name', load: () => import('./stream/page.tsx').then((module) => module.StreamPage) },
  { path: '/tokens/publish', load: () => import('./tokens/listPage.tsx').then((module) => module.PublishTokensPage) },
  {
    path: '/tokens/subscribe',
    load: () => import('./tokens/listPage.tsx').then((module) => module.SubscribeTokensPage),
  },
  {
    path: '/tokens/publish/new',
    load: () => import('./tokens/newPage.tsx').then((module) => module.NewPublishTokenPage),
  },
  {
    path: '/tokens/subscribe/new',
    load: () => import('./tokens/newPage.tsx').then((module) => module.NewSubscribeTokenPage),
  },
  {
    path: '/tokens/publish/:id',
    load: () => import('./tokens/tokenPage.tsx').then((module) => module.PublishTokenPage),
  },
  {
    path: '/tokens/subscribe/:id',
    load: () => import('./tokens/tokenPage.tsx').then((module) => module.SubscribeTokenPage),
  },
  {
    path: '/first-run',
    load: () => import('./firstRun/page.tsx').then((module) => module.FirstRunPage),
    isAlone: true,
  },
  { path: '/live', load: () => import('./goLive/page.tsx').then((module) => module.GoLivePage) },
  { path: '/access', load: () => import('./access/page.tsx').then((module) => module.AccessPage) },
  { path: '/analytics', load: () => import('./analytics/page.tsx').then((module) => module.AnalyticsPage) },
  { path: '/channels', load: () => import('./channels/list.tsx').then((module) => module.ChannelsPage) },
  { path: '/channels/new', load: () => import('./channels/newChannel.tsx').then((module) => module.NewChannelPage) },
  {
    path: '/channels/calendar',
    load: () => import('./channels/wholeCalendar.tsx').then((module) => module.CalendarPage),
  },
  { path: '/channels/:id', load: () => import('./channels/channel.tsx').then((module) => module.ChannelPage) },
  { path: '/recordings', load: () => import('./recordings/page.tsx').then((module) => module.RecordingsPage) },
  { path: '/settings', load: () => import('./settings/security.tsx').then((module) => module.SecurityPage) },
  { path: '/settings/security', load: () => import('./settings/security.tsx').then((module) => module.SecurityPage) },
  { path: '/settings/people', load: () => import('./settings/people.tsx').then((module) => module.PeoplePage) },
  { path: '/settings/nodes', load: () => import('./settings/nodes.tsx').then((module) => module.NodesPage) },
  { path: '/settings/audit', load: () => import('./settings/audit.tsx').then((module) => module.AuditPage) },
  { path: '/webhooks', load: () => import('./webhooks/page.tsx').then((module) => module.WebhooksPage) },
  {
    path: '/webhooks/channels',
    load: () => import('./webhooks/channelPage.tsx').then((module) => module.ChannelWebhooksPage),
  },
  {
    path: '/webhooks/channels/:id',
    load: () => import('./webhooks/channelPage.tsx').then((module) => module.ChannelWebhooksPage),
  },
  { path: '/webhooks/:id', load: () => import('./webhooks/page.tsx').then((module) => module.WebhooksPage) },
]

/** A place of the navigation. */
export interface Place {
  readonly path: string
  readonly icon: IconName
  readonly text: string
}

export const PLACES: readonly Place[] = [
  { path: '/', icon: 'overview', text: words.frame.overview },
  { path: '/tokens/publish', icon: 'tokens', text: words.frame.tokens },
  { path: '/channels', icon: 'channels', text: words.frame.channels },
  { path: '/recordings', icon: 'recordings', text: words.frame.recordings },
  { path: '/access', icon: 'access', text: words.frame.access },
  { path: '/analytics', icon: 'analytics', text: words.frame.analytics },
  { path: '/webhooks', icon: 'webhooks', text: words.frame.webhooks },
  { path: '/settings/security', icon: 'settings', text: words.frame.settings },
]

/** The place that a page belongs to: the first part of its path. */
export const placeOf = (path: string): string =>
  PLACES.find((place) => place.path.split('/')[1] === path.split('/')[1])?.path ?? ''
