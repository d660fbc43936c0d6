#pragma once

namespace tenure::mem {

// To say that memory has run out takes memory: for the text, for the list of holders. It is set
// aside while there is some.

/// Sets it aside if it is not. Called where memory was had just now.
void fill_reserve() noexcept;

/// Gives it back to the system, so that whoever asks next gets some.
void spend_reserve() noexcept;

}  // namespace tenure::mem
