import type { ComponentType } from 'preact'
import type { PageArgs } from '../router.ts'

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
  { path: '/streams', load: () => import('./streams/page.tsx').then((module) => module.StreamsPage) },
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
    path: '/tokens/publish/:tokenId/sources/:id',
    load: () => import('./tokens/pullPage.tsx').then((module) => module.PullPage),
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
  { path: '/settings/defaults', load: () => import('./settings/defaults.tsx').then((module) => module.DefaultsPage) },
  { path: '/settings/nodes', load: () => import('./settings/nodes.tsx').then((module) => module.NodesPage) },
  { path: '/settings/server', load: () => import('./settings/server/page.tsx').then((module) => module.ServerPage) },
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
