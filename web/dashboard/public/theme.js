// Sets the chosen theme before the first paint. Without a choice the page follows the system.
const theme = localStorage.getItem('sluice-theme')
if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
