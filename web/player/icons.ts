/** Outlines of 24 by 24 units. */
export const ICONS = {
  play: 'M8 5.5v13l11-6.5z',
  pause: 'M8 5v14M16 5v14',
  loud: 'M4 9.5v5h3.5L12 18.5v-13L7.5 9.5H4zM15.5 9a4 4 0 0 1 0 6M18 6.5a8 8 0 0 1 0 11',
  muted: 'M4 9.5v5h3.5L12 18.5v-13L7.5 9.5H4zM15.5 9.5l5 5M20.5 9.5l-5 5',
  captions: 'M3 5h18v14H3zM10.5 10.5a2 2 0 1 0 0 3M17 10.5a2 2 0 1 0 0 3',
  settings: 'M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4',
  pictureInPicture: 'M3 5h18v14H3zM12 12h6v4h-6z',
  fullscreen: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
  leaveFullscreen: 'M9 4v5H4M15 4v5h5M9 20v-5H4M15 20v-5h5',
} as const
