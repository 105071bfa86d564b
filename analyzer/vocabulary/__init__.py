"""Knowledge that is written as data: how such files are loaded, checked and kept between runs."""
