import './icon.css'

/** Paths of 24 by 24, drawn with a stroke. */
const PATHS = {
  search: 'M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM20 20l-4.8-4.8',
  goLive:
    'M12 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3zM8.5 15.5a5 5 0 0 1 0-7M15.5 8.5a5 5 0 0 1 0 7M5.6 18.4a9 9 0 0 1 0-12.8M18.4 5.6a9 9 0 0 1 0 12.8',
  overview: 'M3 12h4l2.5-7 5 14 2.5-7h4',
  streams: 'M3 4.5h18v12H3zM10.5 8v5l4-2.5zM8 20h8',
  tokens: 'M14.5 3.5a6 6 0 1 0 0 11 6 6 0 0 0 0-11zM9.7 12.5 3.5 18.7V21h3v-2h2v-2h2l1.4-2.6M16 8h.01',
  channels: 'M12 3 3 7.5l9 4.5 9-4.5L12 3zM3 12l9 4.5 9-4.5M3 16.5 12 21l9-4.5',
  recordings: 'M4 4h16v16H4zM8 4v16M16 4v16M4 9h4M4 15h4M16 9h4M16 15h4',
  access: 'M12 3l7.5 3v5.5c0 4.6-3.1 8-7.5 9.5-4.4-1.5-7.5-4.9-7.5-9.5V6L12 3zM8.8 11.8l2.3 2.3 4.2-4.4',
  analytics: 'M4 20V4M4 20h16M8.5 16v-5M13 16V8M17.5 16v-3',
  webhooks: 'M13 3 5.5 13.5H12L11 21l7.5-10.5H12L13 3z',
  settings:
    'M12 15.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4z' +
    'M19.4 13.5l1.6 1.2-2 3.4-1.9-.8a7.6 7.6 0 0 1-2.2 1.3l-.3 2.1h-4l-.3-2.1a7.6 7.6 0 0 1-2.2-1.3l-1.9.8-2-3.4 1.6-1.2' +
    'a7.4 7.4 0 0 1 0-3L4.2 9.3l2-3.4 1.9.8a7.6 7.6 0 0 1 2.2-1.3L10.6 3.3h4l.3 2.1a7.6 7.6 0 0 1 2.2 1.3l1.9-.8 2 3.4-1.6 1.2a7.4 7.4 0 0 1 0 3z',
  dots: 'M6 12h.01M12 12h.01M18 12h.01',
  plus: 'M12 5v14M5 12h14',
  menu: 'M4 7h16M4 12h16M4 17h16',
  calendar: 'M4 6h16v14H4zM4 10.5h16M8.5 3.5V7M15.5 3.5V7',
  download: 'M12 4v11M7 11l5 5 5-5M4 20h16',
  descending: 'M12 5v14M7 14l5 5 5-5',
  ascending: 'M12 19V5M7 10l5-5 5 5',
  back: 'M15 6l-6 6 6 6',
  edit: 'M4 20l1-4L16.5 4.5l3 3L8 19l-4 1z',
  stop: 'M6 6h12v12H6z',
  copy: 'M9 9h11v11H9zM5.5 15H4V4h11v1.5',
  show: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z',
  refresh: 'M20 11a8 8 0 0 0-14.5-3.8L4 9M4 4v5h5M4 13a8 8 0 0 0 14.5 3.8L20 15M20 20v-5h-5',
  globe: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM3 12h18M12 3c3 3 3.5 6 3.5 9s-.5 6-3.5 9c-3-3-3.5-6-3.5-9S9 6 12 3z',
  unlocked: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 6.8-1.2',
  locked: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3.5 2',
  play: 'M7 4.5v15l12.5-7.5z',
  warning: 'M12 4 2.8 20h18.4L12 4zM12 10v4.5M12 17.3h.01',
  close: 'M6 6l12 12M18 6 6 18',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 7.8h.01',
  pause: 'M8 5v14M16 5v14',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5',
  theme:
    'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5',
  next: 'M5 12h14M13 6l6 6-6 6',
  forward: 'M9 6l6 6-6 6',
  viewers:
    'M9 11.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c.5-3.5 3-5.5 6.5-5.5s6 2 6.5 5.5M16 5a3.5 3.5 0 0 1 0 6.5M17.5 14.8c2.3.6 3.7 2.4 4 5.2',
  code: 'M8.5 7 3.5 12l5 5M15.5 7l5 5-5 5',
  camera: 'M3 7h12v10H3zM15 10.5 21 7v10l-6-3.5',
  screen: 'M3 5h18v11H3zM9 20h6M12 16v4',
  testPattern: 'M4 4h6.5v6.5H4zM13.5 4H20v6.5h-6.5zM4 13.5h6.5V20H4zM13.5 13.5H20V20h-6.5z',
  microphone: 'M12 15a3 3 0 0 0 3-3V6a3 3 0 0 0-6 0v6a3 3 0 0 0 3 3zM5.5 12a6.5 6.5 0 0 0 13 0M12 18.5V21',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  speaker: 'M4 9.5v5h3.5L12 18.5v-13L7.5 9.5H4zM15.5 9a4 4 0 0 1 0 6M18 6.5a8 8 0 0 1 0 11',
  fullscreen: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
  signOut: 'M14 4H5v16h9M10 12h10M16 8l4 4-4 4',
  server: 'M4 4h16v6H4zM4 14h16v6H4zM7.5 7h.01M7.5 17h.01',
} as const

export type IconName = keyof typeof PATHS

/** Decoration beside a word, or inside a control that has a label. */
export function Icon({ name, isSmall = false }: { readonly name: IconName; readonly isSmall?: boolean }) {
  const kind = name === 'dots' ? 'i dots' : 'i'
  return (
    <svg class={isSmall ? `${kind} i-s` : kind} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
