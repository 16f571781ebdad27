/** A sluice gate over water: closed, or lifted, so that water runs below it. */
export function Gate({ isOpen = false }: { readonly isOpen?: boolean }) {
  const top = isOpen ? 16 : 34
  return (
    <svg class="art" viewBox="0 0 132 88" aria-hidden="true">
      <g fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">
        <path d="M38 12v64M50 12v64M82 12v64M94 12v64M34 12h64" />
        <rect x="50" y={top} width="32" height="26" rx="2" fill="currentColor" fill-opacity=".14" />
        <path d={`M66 12V${top}`} />
        <path d={`M4 62c6-5 11-5 17 0s11 5 17 0${isOpen ? 'M50 62c5-5 11-5 16 0s11 5 16 0' : ''}`} />
        {isOpen ? <path d="M94 62c6-5 11-5 17 0s11 5 17 0" /> : <path d="M94 74h34" opacity=".4" />}
        <path d="M4 74c6-5 11-5 17 0s11 5 17 0" opacity=".5" />
      </g>
    </svg>
  )
}
