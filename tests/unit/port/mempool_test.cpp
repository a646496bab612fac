#include <rte_mbuf.h>

#include "tests/unit/port/fixture.hpp"

namespace xbond::port::test {
namespace {

TEST(Mempool, HoldsWhatWasAsked) {
  auto pool = make_pool("pool_test", 1000, 2048, 0);
  ASSERT_TRUE(pool.ok()) << pool.error().text;
  EXPECT_EQ(rte_mempool_avail_count(pool->get()), 1000u);
  EXPECT_EQ(rte_pktmbuf_data_room_size(pool->get()), 2048 + RTE_PKTMBUF_HEADROOM);
  EXPECT_EQ(rte_pktmbuf_priv_size(pool->get()), kMbufPriv);
  rte_mbuf* frame = rte_pktmbuf_alloc(pool->get());
  ASSERT_NE(frame, nullptr);
  EXPECT_NE(rte_pktmbuf_append(frame, 2048), nullptr);
  rte_pktmbuf_free(frame);

  auto again = make_pool("pool_test", 100, 2048, 0);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, EEXIST);
  pool->reset();
  EXPECT_TRUE(make_pool("pool_test", 100, 2048, -1).ok());  // the name is free again
}

TEST(Mempool, TinyOnesWork) {
  for (const unsigned mbufs : {1u, 2u, 3u, 384u, 385u}) {
    auto pool = make_pool("tiny", mbufs, 256, 0);
    ASSERT_TRUE(pool.ok()) << mbufs << ": " << pool.error().text;
    EXPECT_EQ(rte_mempool_avail_count(pool->get()), mbufs);
  }
}

TEST(Mempool, Refusals) {
  EXPECT_EQ(make_pool("none", 0, 2048, 0).error().code, EINVAL);
  EXPECT_EQ(make_pool("none", 10, 0, 0).error().code, EINVAL);
  EXPECT_EQ(make_pool("none", 10, 65535, 0).error().code, EINVAL);
  EXPECT_EQ(make_pool(std::string(100, 'x'), 10, 2048, 0).error().code, ENAMETOOLONG);

  auto huge = make_pool("huge", 1u << 22, 2048, 0);
  ASSERT_FALSE(huge.ok());
  EXPECT_EQ(huge.error().code, ENOMEM);
  for (const char* part : {"4194304 mbufs", "MB wanted", "MB free", "-m MB"})
    EXPECT_NE(huge.error().text.find(part), std::string::npos) << huge.error().text;
}

}  // namespace
}  // namespace xbond::port::test
